"""What tables of runs and of results hold: `schema` says what a table is, and docs/reference/tables.md lists them."""
