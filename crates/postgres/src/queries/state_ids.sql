-- Ids in the order of their bytes. Values: the lowest, and the end, exclusive; 1 for deleted ones, too; the most.
SELECT e.persistence_id FROM {state_table} AS e
WHERE e.persistence_id >= $1::text AND e.persistence_id < $2::text AND (NOT e.deleted OR $3::bigint = 1)/*type*/
ORDER BY e.persistence_id LIMIT $4::bigint
