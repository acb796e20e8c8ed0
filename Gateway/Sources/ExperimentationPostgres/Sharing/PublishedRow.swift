import Experimentation

/// An account's published rules and the state of its kill switch.
struct PublishedRow: Sendable {
    var revision: Int64 = 0
    var isDisabled = false
    /// The validator to send to the vendor with the next request.
    var validator: String?
    /// The rules as the vendor sent them; `nil` until the first success.
    var body: [UInt8]?
    /// Why the last fetch failed; `nil` if it succeeded.
    var failure: ExperimentationError?
    /// The time since the vendor was last asked, by the database's clock.
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

/// The right to fetch the rules, which ends with the lease or with publication.
struct LeaderTerm: Sendable {
    let epoch: Int64
    /// The row that was published when the term began.
    let before: PublishedRow?
}
