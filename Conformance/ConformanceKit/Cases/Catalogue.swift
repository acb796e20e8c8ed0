extension ConformanceCase {
    /// Every neutral case, in the order of the contract; names are unique and never change.
    public static let all: [ConformanceCase] =
        evaluation + types + snapshots + caching + experiments + exposures + delivery + events + outages + consent
        + lifeCycle
        + privacy
        + declarations
        + targeting + serving + stores + changes

    /// The version of the suite.
    ///
    /// The major number changes when a case is removed or becomes stricter, the minor when one is added.
    /// `docs/conformance-cases.md` lists the changes.
    public static let suiteVersion = "2.0"

    /// The read-only cases, which may run against a vendor's real account.
    public static let live: [ConformanceCase] = all.filter(\.isSafeLive)
}
