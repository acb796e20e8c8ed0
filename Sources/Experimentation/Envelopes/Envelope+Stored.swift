/// The stored form, only for this repository's fuzzers and benchmarks, which are packages of their own.
extension Envelope {
    /// Returns the event's stored form.
    @_spi(StoredForm) public func stored() throws(ExperimentationError) -> [UInt8] { try EnvelopeCoding.encode(self) }

    /// Creates an event from its stored form.
    @_spi(StoredForm) public init(stored bytes: [UInt8]) throws(ExperimentationError) {
        self = try EnvelopeCoding.decode(bytes)
    }
}

extension TrackingEvent {
    /// Whether a client would accept the event, regardless of what its vendor supports.
    @_spi(StoredForm) public var isStorable: Bool { (try? validate()) != nil }
}
