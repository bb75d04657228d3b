-- +goose Up
-- Whether an export holds the contents of agents. One that was asked for with a key for the account alone does not. Exports
-- from before hold everything.
ALTER TABLE account_export ADD COLUMN agents INTEGER NOT NULL DEFAULT 1;
