-- +goose Up
-- How an agent answers. Empty values are the defaults. Examples are a JSON list of questions.
ALTER TABLE agent ADD COLUMN policy TEXT NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN answer_length TEXT NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN opening TEXT NOT NULL DEFAULT '';
ALTER TABLE agent ADD COLUMN examples TEXT NOT NULL DEFAULT '[]';
