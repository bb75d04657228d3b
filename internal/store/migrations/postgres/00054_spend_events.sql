-- +goose Up

-- When webhooks were told that the spend of the month is near the cap, and that it has reached the cap.
ALTER TABLE budget ADD COLUMN near_at BIGINT;
ALTER TABLE budget ADD COLUMN reached_at BIGINT;
