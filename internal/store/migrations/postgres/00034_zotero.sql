-- +goose Up

-- The state of a source's last complete import, such as the version of a library; '' for none.
ALTER TABLE source ADD COLUMN sync_state TEXT NOT NULL DEFAULT '';

-- The items of Zotero libraries that favourites were written to.
CREATE TABLE zotero_item (
    source_id TEXT COLLATE "C" NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    library   TEXT COLLATE "C" NOT NULL,
    card_id   TEXT COLLATE "C" NOT NULL,
    item_key  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (source_id, library, card_id)
);
