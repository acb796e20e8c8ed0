extension OFREPMock {
    /// How each behavior that the protocol leaves open is known.
    public static let facts: [MockFact] = [
        MockFact(.documented, "an unchanged bulk evaluation is answered with 304 to the ETag that was sent"),
        MockFact(
            .documented,
            "a flag that can't be evaluated is listed with the others, with errorCode and errorDetails"
        ),
        MockFact(.documented, "a change is told on a stream of server-sent events as refetchEvaluation"),
        MockFact(.read, "a token goes as Authorization: Bearer or as X-API-Key, by the published providers"),
        MockFact(.inferred, "a wrong or missing token is answered with 401, an unknown path with 404"),
        MockFact(.inferred, "a question larger than a million bytes is answered with 413"),
        MockFact(
            .documented,
            "where it takes events, by this project's gateway: each id once, and an outcome for each event"
        ),
        MockFact(.inferred, "an ETag covers the whole answer, the user's attributes too"),
        MockFact(
            .inferred,
            "a switched-off flag is answered without a value, with the reason DISABLED and the variant off"
        ),
    ]
}
