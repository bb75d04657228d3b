-- +goose Up

-- A lease allows one node at a time to do a job, such as to index documents in a search service that all nodes share.
CREATE TABLE lease (
  name  TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL
);
