// node bench/duckdb.cjs FOLDER JOBS OUT: runs the queries of the JSON file JOBS (name, sql) one after another in the DuckDB
// database bench.duckdb of FOLDER, where @duckdb/node-api is installed, and writes seconds and rows to OUT. Used by database.R.
const { createRequire } = require("module");
const fs = require("fs");
const path = require("path");
const [folder, jobs, out] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(path.resolve(folder) + "/")("@duckdb/node-api");
(async () => {
  const file = path.join(folder, "bench.duckdb");
  const connection = await (await DuckDBInstance.create(file)).connect();
  const results = [];
  for (const { name, sql } of JSON.parse(fs.readFileSync(jobs))) {
    const start = process.hrtime.bigint();
    const reader = await connection.runAndReadAll(sql);
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    results.push({ name, seconds, rows: name.startsWith("(") ? [] : reader.getRowObjectsJson() });
    process.stderr.write(`${name}: ${seconds.toFixed(1)} s\n`);
    fs.writeFileSync(out, JSON.stringify(results));
  }
})();
