-- Ids in the order of their bytes. Values: the lowest, and the end, exclusive; 1 for deleted ones, too; the most.
-- In the order of the primary key: any other index would have all of them sorted for each page.
SELECT persistence_id FROM {state_table} FORCE INDEX (PRIMARY)
WHERE persistence_id >= ? AND persistence_id < ? AND (deleted = 0 OR ? = 1)/*type*/
ORDER BY persistence_id LIMIT ?
