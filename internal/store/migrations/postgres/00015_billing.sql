-- +goose Up

-- Whether a plan stands in the settings, which alone change it.
ALTER TABLE plan ADD COLUMN declared SMALLINT NOT NULL DEFAULT 0 CHECK (declared IN (0, 1));

-- Counts how often the customer's subscription was read at the payment provider and kept. Whoever read it while somebody
-- else kept a later reading finds another number here, and reads again.
ALTER TABLE billing_customer ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
