extension ConformanceCase {
    /// Every neutral case, in the order of the contract; names are unique and never change.
    public static let all: [ConformanceCase] =
        evaluation + types + snapshots + caching + experiments + exposures + delivery + events + outages + consent
        + lifeCycle
        + privacy
        + declarations
        + targeting + operators + layers + serving + stores + changes

    /// Every case of the suite: the neutral ones, those for compositions, for moves, and for whole SDKs.
    public static let every: [ConformanceCase] = all + composing + moving + wholeSDK

    /// The version of the suite.
    ///
    /// The first number changes when a case becomes stricter or is removed, the second when one is added.
    /// `docs/conformance-cases.md` says what changed.
    public static let suiteVersion = "3.0"

    /// The read-only cases, which may run against a vendor's real account.
    public static let live: [ConformanceCase] = all.filter(\.isSafeLive)
}
