PRAGMA temp_store = MEMORY;
CREATE TABLE said AS SELECT trim(readfile('/dev/stdin'), char(10)) AS line;
SELECT 'é ' || substr(line, 6) FROM said WHERE line LIKE 'echo %';
SELECT json_extract('{', '$') FROM said WHERE line IN ('crash', 'exit');
WITH RECURSIVE up(n) AS (SELECT 1 FROM said WHERE line = 'spin' UNION ALL SELECT n + 1 FROM up)
SELECT n FROM up WHERE n < 0;
CREATE TEMP TABLE held AS
WITH RECURSIVE up(n) AS (SELECT 1 FROM said WHERE line = 'memory' UNION ALL SELECT n + 1 FROM up)
SELECT randomblob(1048576) FROM up;
