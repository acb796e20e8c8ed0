extension FlagshipMock {
    /// How each behavior that the vendor's documentation leaves open is known.
    public static let facts: [MockFact] = [
        MockFact(.documented, "keys of sibling variations are answered with null if exposeAllKeys is asked for"),
        MockFact(.documented, "an answer in panic has an empty list of campaigns"),
        MockFact(.read, "an unknown field is refused with 400, by the server's source", setting: "strict"),
        MockFact(.read, "exposures are answered with 204, single or in a batch, by the server's source"),
        MockFact(
            .read,
            "the Decision API evaluates by the server's rules; by the SDK's if switched over",
            setting: "rules"
        ),
        MockFact(.read, "an assignment is remembered by the visitor's id and the anonymous id", setting: "remembers"),
        MockFact(.read, "a body is JSON whatever its Content-Type says, for the SDK for iOS sets none"),
        MockFact(.inferred, #"a wrong key is answered with 403 and {"message":"Forbidden"}"#),
        MockFact(
            .inferred,
            "two spellings of one field in one question are refused with 400, as Protobuf's JSON has it",
            setting: "strict"
        ),
        MockFact(.inferred, "the collector answers 200, and refuses what it can't read with 400"),
        MockFact(.inferred, "a variation whose modifications have no type is answered with the type null"),
        MockFact(
            .inferred,
            "the CDN dates its files, and answers 304 where the date is heeded",
            setting: "validators"
        ),
    ]
}
