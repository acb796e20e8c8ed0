/// The stored form, for this repository's other packages alone: its fuzzers, its benchmarks, and the store on
/// PostgreSQL.
extension Envelope {
    /// Writes the event as it is stored.
    ///
    /// - Parameter limit: How many bytes it may take.
    /// - Returns: The bytes.
    /// - Throws: ``ErrorCode/tooLarge`` above the limit.
    @_spi(StoredForm) public func stored(limit: Int = .max) throws(ExperimentationError) -> [UInt8] {
        try EnvelopeCoding.encode(self, limit: limit)
    }

    /// Creates an event from its stored form.
    @_spi(StoredForm) public init(stored bytes: [UInt8]) throws(ExperimentationError) {
        self = try EnvelopeCoding.decode(bytes)
    }
}

extension TrackingEvent {
    /// Whether a client would accept the event, regardless of what its vendor supports.
    @_spi(StoredForm) public var isStorable: Bool { (try? validate()) != nil }
}

extension Identity {
    /// The mark by which a store knows a user: half a SHA-256 of the store's own salt followed by the id, never the id.
    @_spi(StoredForm) public static func mark(of userID: String, salt: [UInt8]) -> [UInt8] {
        Array(Digest.sha256(salt + userID.utf8).prefix(16))
    }
}
