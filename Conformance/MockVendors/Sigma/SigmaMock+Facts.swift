extension SigmaMock {
    /// How each behavior that the vendor's documentation leaves open is known.
    public static let facts: [MockFact] = [
        MockFact(.documented, "everybody with a token gets the same configuration; nothing is evaluated there"),
        MockFact(.read, "the two paths, config.json and geo, and the names of the header fields"),
        MockFact(.read, "the members of the configuration and of a place, by the framework's coding keys"),
        MockFact(.inferred, "requests are GET, and have token and user-id as header fields"),
        MockFact(
            .inferred,
            "a missing token is answered with 401, an unknown one with 403, another path with 404, another method with 405"
        ),
        MockFact(
            .inferred,
            "a request without sdk-name, sdk-version or Content-Type is answered with 400",
            setting: "requiresFields"
        ),
        MockFact(.inferred, "answers say Cache-Control: no-store"),
    ]
}
