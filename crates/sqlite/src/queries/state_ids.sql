-- Ids in the order of their bytes. Values: the lowest, and the end, exclusive; 1 for deleted ones, too; the most.
SELECT persistence_id FROM {state_table}
WHERE persistence_id >= ?1 AND persistence_id < ?2 AND (deleted = 0 OR ?3 = 1)/*type*/
ORDER BY persistence_id LIMIT ?4
