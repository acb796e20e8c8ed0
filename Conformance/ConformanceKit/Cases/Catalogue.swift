extension ConformanceCase {
    /// Every neutral case, in the order of the contract; their names are unique and never change.
    public static let all: [ConformanceCase] =
        evaluation + types + snapshots + caching + experiments + exposures + delivery + events + outages + consent
        + lifeCycle
        + privacy
        + declarations

    /// The cases that read only and may run against a vendor's real account.
    public static let live: [ConformanceCase] = all.filter(\.isSafeLive)
}
