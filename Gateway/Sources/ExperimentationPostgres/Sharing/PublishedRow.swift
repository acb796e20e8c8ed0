import Experimentation

/// An account's rules as the database has them, and whether its kill switch is on.
struct PublishedRow: Sendable {
    var revision: Int64 = 0
    var isDisabled = false
    /// What the vendor wants to be told with the next question.
    var validator: String?
    /// The vendor's own bytes; `nil` before the first.
    var body: [UInt8]?
    /// Why the last attempt gave no answer.
    var failure: ExperimentationError?
    /// How long ago the vendor was last asked, by the database's clock.
    var age: Duration

    static let columns = """
        revision, disabled, validator, body, failure, reason,
        extract(epoch FROM clock_timestamp() - attempted)::float8
        """

    init(_ row: Row) {
        revision = row.whole(0)
        isDisabled = row.flag(1)
        validator = row.outside(2)
        body = row.isNull(3) ? nil : row.bytes(3)
        failure = row.outside(4).map { code in
            ExperimentationError(ErrorCode(rawValue: code), row.outside(5) ?? "")
        }
        age = .seconds(max(0, row.real(6)))
    }
}

/// The right to ask the vendor, until the lease ends or the outcome is written down.
struct LeaderTerm: Sendable {
    let epoch: Int64
    /// What was published when the term began.
    let before: PublishedRow?
}
