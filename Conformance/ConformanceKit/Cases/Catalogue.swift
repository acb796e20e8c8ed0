extension ConformanceCase {
    /// Every neutral case, in the order of the contract; names are unique and never change.
    public static let all: [ConformanceCase] =
        evaluation + types + snapshots + caching + experiments + exposures + delivery + events
        + campaigns
        + outages + consent + lifeCycle
        + killSwitches
        + privacy + declarations + targeting
        + values
        + operators + layers + serving + stores + changes + batches

    /// Every case of the suite: the neutral ones, those for compositions, for moves, and for whole SDKs.
    public static let every: [ConformanceCase] = all + composing + moving + wholeSDK

    /// Whether it applies to a subject: cases for several vendors, about moves, and for whole SDKs each have subjects
    /// of their own.
    func isAbout(_ subject: any ConformanceSubject) -> Bool {
        isAboutWholeSDKs == subject.isWholeSDK && (subject.isComposed || !isAboutSeveralVendors)
            && (subject.isMoving || !isAboutMoving)
    }

    /// The version of the suite.
    ///
    /// The first number changes when a case becomes stricter or is removed, the second when one is added.
    /// `docs/conformance-cases.md` says what changed.
    public static let suiteVersion = "4.1"

    /// The read-only cases, which may run against a vendor's real account.
    public static let live: [ConformanceCase] = all.filter(\.isSafeLive)
}
