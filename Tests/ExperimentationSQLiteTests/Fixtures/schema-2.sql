-- A store as schema 2 left it: nine accepted, three delivered, one purged, one rejected, four waiting, one of them held.
-- Generated once and never edited; a later schema must still deliver these.
PRAGMA application_id = 1481657684;
PRAGMA user_version = 2;
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY,
    priority INTEGER NOT NULL,
    held INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    date REAL NOT NULL,
    user TEXT NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX event_held ON event (user) WHERE held = 1;
CREATE TABLE attempt (
    sequence INTEGER PRIMARY KEY,
    noted REAL NOT NULL,
    due REAL NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT
) STRICT;
CREATE TABLE lease (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    noted REAL NOT NULL,
    due REAL NOT NULL
) STRICT;
CREATE TABLE ledger (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE state (
    written INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    value BLOB NOT NULL
) STRICT;
INSERT INTO event VALUES (5, 1, 0, 0, 1795262400.0, 'ada', 'e-5', CAST('{"attempts":0,"attributeChanges":{},"date":1795262400,"event":{"attributes":{"colour":"red"},"name":"spun-wheel","type":"custom","value":3},"id":"e-5","identity":{"id":"ada","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (6, 0, 0, 0, 1795262401.0, 'bob', 'e-6', CAST('{"attempts":0,"attributeChanges":{},"date":1795262401,"event":{"name":"home","type":"screenView"},"id":"e-6","identity":{"id":"bob","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (8, 2, 0, 1, 1795262402.0, 'bob', 'e-8', CAST('{"attempts":0,"attributeChanges":{},"date":1795262402,"event":{"granted":true,"type":"consentChanged"},"id":"e-8","identity":{"id":"bob","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (9, 1, 1, 0, 1795262403.0, 'zoë', 'e-9', CAST('{"attempts":0,"attributeChanges":{"plan":"pro"},"date":1795262403,"event":{"name":"waited","type":"custom"},"id":"e-9","identity":{"anonymousID":"x","id":"zoë","isAuthenticated":true},"sequence":0,"session":"s-2"}' AS BLOB));
INSERT INTO attempt VALUES (5, 1795262200.0, 0.0, 1, 'HTTP 400');
INSERT INTO lease VALUES (5, 6, 7, 1795262300.0, 1795262500.0);
INSERT INTO ledger VALUES ('delivered', 3), ('purged', 1), ('rejected', 1), ('sequence', 7);
INSERT INTO state VALUES (1, 'ruleset', x'010203');
