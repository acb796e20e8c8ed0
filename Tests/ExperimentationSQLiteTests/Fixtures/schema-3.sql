-- A store as schema 3 left it: nine accepted, three delivered, one purged, one rejected, four waiting, one of them held;
-- one of its users denies consent, and a process that is gone holds its lane. The two latest haven't got rows of their own
-- for their deliveries; the latest that was delivered still has them.
-- Generated once and never edited; a later schema must still deliver these.
PRAGMA application_id = 1481657684;
PRAGMA user_version = 3;
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY,
    priority INTEGER NOT NULL,
    date REAL NOT NULL,
    owed INTEGER,
    kept INTEGER,
    user TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE state (
    written INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE destination (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    account TEXT NOT NULL,
    owner INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    leased REAL NOT NULL,
    until REAL NOT NULL,
    out INTEGER NOT NULL,
    paused REAL NOT NULL,
    resumes REAL NOT NULL,
    reason TEXT,
    tried INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    through INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    purged INTEGER NOT NULL,
    head INTEGER NOT NULL,
    UNIQUE (provider, account)
) STRICT;
CREATE TABLE dropped (
    destination INTEGER NOT NULL,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (destination, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE delivery (
    destination INTEGER NOT NULL,
    held INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    kept INTEGER NOT NULL,
    user TEXT NOT NULL,
    noted REAL,
    due REAL,
    attempts INTEGER,
    reason TEXT,
    PRIMARY KEY (destination, held, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_delayed ON delivery (destination, user) WHERE due IS NOT NULL;
CREATE TABLE denial (user BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO event VALUES (4, 1, 1795262399.0, 1, 0, 'ada', CAST('{"attempts":0,"attributeChanges":{},"date":1795262399,"event":{"attributes":{"colour":"red"},"name":"spun-wheel","type":"custom","value":3},"id":"e-4","identity":{"id":"ada","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (5, 1, 1795262400.0, 1, 0, 'ada', CAST('{"attempts":0,"attributeChanges":{},"date":1795262400,"event":{"attributes":{"colour":"red"},"name":"spun-wheel","type":"custom","value":3},"id":"e-5","identity":{"id":"ada","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (6, 0, 1795262401.0, 1, 0, 'bob', CAST('{"attempts":0,"attributeChanges":{},"date":1795262401,"event":{"name":"home","type":"screenView"},"id":"e-6","identity":{"id":"bob","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (8, 2, 1795262402.0, 1, 1, 'bob', CAST('{"attempts":0,"attributeChanges":{},"date":1795262402,"event":{"granted":true,"type":"consentChanged"},"id":"e-8","identity":{"id":"bob","isAuthenticated":false},"sequence":0,"session":"s-1"}' AS BLOB));
INSERT INTO event VALUES (9, 1, 1795262403.0, 3, 0, 'zoë', CAST('{"attempts":0,"attributeChanges":{"plan":"pro"},"date":1795262403,"event":{"name":"waited","type":"custom"},"id":"e-9","identity":{"anonymousID":"x","id":"zoë","isAuthenticated":true},"sequence":0,"session":"s-2"}' AS BLOB));
INSERT INTO delivery VALUES (1, 0, 4, 0, 'ada', NULL, NULL, NULL, NULL);
INSERT INTO delivery VALUES (1, 0, 5, 0, 'ada', 1795262200.0, 1795262200.0, 1, 'HTTP 400');
INSERT INTO delivery VALUES (1, 0, 6, 0, 'bob', NULL, NULL, NULL, NULL);
INSERT INTO destination VALUES (1, 'home', '642873e74e0e5a447ec31edf8d0555fec579b12e6039c661a89a24268b4c0544', 7, 4, 2, 1795262300.0, 1795262500.0, 6, 0.0, 0.0, NULL, 0, 7, 7, 3, 1, 4);
INSERT INTO dropped VALUES (1, 'rejected', 1);
INSERT INTO denial VALUES (x'050bd30f3ff3ef8d5a7ac37d2af91576');
INSERT INTO meta VALUES ('salt', x'000102030405060708090a0b0c0d0e0f');
INSERT INTO state VALUES (1, 'ruleset', x'010203');
