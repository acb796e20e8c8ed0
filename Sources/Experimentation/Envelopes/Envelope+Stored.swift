/// The stored form, for the fuzzers and benchmarks of this repository alone: they are packages of their own.
extension Envelope {
    /// Writes the event as it is stored.
    @_spi(StoredForm) public func stored() throws(ExperimentationError) -> [UInt8] { try EnvelopeCoding.encode(self) }

    /// Reads an event as it is stored.
    @_spi(StoredForm) public init(stored bytes: [UInt8]) throws(ExperimentationError) {
        self = try EnvelopeCoding.decode(bytes)
    }
}

extension TrackingEvent {
    /// Whether a client would accept the event, whatever its vendor has a word for.
    @_spi(StoredForm) public var isStorable: Bool { (try? validate()) != nil }
}
