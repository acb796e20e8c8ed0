extension EngageMock {
    /// How each behavior that the vendor's documentation leaves open is known.
    public static let facts: [MockFact] = [
        MockFact(
            .documented,
            "a token isn't renewed within three hours of the last; the same is answered",
            setting: "reissueWindow"
        ),
        MockFact(.documented, "an organization has ten calls under way at most", setting: "concurrency"),
        MockFact(.documented, "a relational table takes a hundred rows a call, and refuses each bad row by itself"),
        MockFact(.documented, "several matches of a selection are the oldest recipient; none is fault 128"),
        MockFact(
            .documented,
            "eventTypeCode and attributes are required in a behaviour; its contact goes before its attributes"
        ),
        MockFact(.read, "the envelope travels in the form's field xml, and the SDK sends no CREATED_FROM"),
        MockFact(
            .read,
            "a contact may be named by its mobile user id, as the SDK for Android does",
            setting: "strictContacts"
        ),
        MockFact(
            .read,
            "an empty Boolean element is true, and SYNC_FIELDS may hold NAME and VALUE, as a client sends them"
        ),
        MockFact(.read, "an OLD_EMAIL of no contact is added, as a client documents it"),
        MockFact(
            .recorded,
            "an unknown list is fault 108, whose name says something else; 106 by a setting",
            setting: "unknownListCode"
        ),
        MockFact(.recorded, "a fault has status 200, and blanks around its text"),
        MockFact(.inferred, "a refused client is answered with 401, any other refusal of a token with 400"),
        MockFact(.inferred, "more tokens than allowed in an hour are answered with 429", setting: "tokensPerHour"),
        MockFact(.inferred, "one call too many is answered with 429", setting: "concurrency"),
        MockFact(.inferred, "a missing or dead token is answered with 401"),
        MockFact(.inferred, "a raw XML body is taken like the form's"),
        MockFact(.inferred, "a column that the list doesn't have is fault 161", setting: "strictColumns"),
        MockFact(.inferred, "a value that doesn't fit its column's type is fault 120", setting: "strictColumnTypes"),
        MockFact(.inferred, "an address that is none is fault 1017", setting: "strictColumnTypes"),
        MockFact(.inferred, "a key that another recipient has is fault 122, when it is changed too"),
        MockFact(.inferred, "an unknown RECIPIENT_ID is fault 123, a column that is there already 101"),
        MockFact(.inferred, "an empty value of a selection matches no contact"),
        MockFact(.inferred, "behaviours are answered with 202 and {}", setting: "behaviorStatus"),
        MockFact(.inferred, "a behaviour belongs to the recipient whose id or mobile user id its attributes name"),
        MockFact(.inferred, "an unknown contactId is an error that is read later", setting: "strictContacts"),
        MockFact(.inferred, "a missing time is the time of receipt", setting: "strictBehaviors"),
        MockFact(.inferred, "a time that isn't one is an error that is read later, and the behaviour is taken"),
    ]
}
