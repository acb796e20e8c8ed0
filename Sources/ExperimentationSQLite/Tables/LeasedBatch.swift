import Experimentation

/// A leased batch as read from the file, not yet decoded.
struct LeasedBatch: Sendable {
    /// Where an event is in ``bodies``: from the end of the previous one to its own.
    private struct Event: Sendable {
        var sequence: Int64
        var attempts: Int
        var end: Int
    }

    /// The bodies of all events, one after the other: one allocation for a batch instead of one each.
    private(set) var bodies: [UInt8] = []
    private var events: [Event] = []

    /// Creates a batch without events.
    ///
    /// - Parameter bytes: Its approximate size in bytes.
    init(bytes: Int = 0) { bodies.reserveCapacity(bytes) }

    /// The number of events.
    var count: Int { events.count }

    /// The sequence of the last event.
    var last: Int64? { events.last?.sequence }

    /// Adds an event.
    ///
    /// - Parameters:
    ///   - sequence: Its sequence.
    ///   - attempts: The number of attempts so far.
    ///   - write: Appends its body.
    mutating func add(sequence: Int64, attempts: Int, body write: (inout [UInt8]) -> Void) {
        write(&bodies)
        events.append(Event(sequence: sequence, attempts: attempts, end: bodies.count))
    }

    /// Decodes the events.
    ///
    /// - Returns: The readable events, and the sequences of the others.
    func read() -> (envelopes: [Envelope], unreadable: [Int64]) {
        var envelopes: [Envelope] = []
        var unreadable: [Int64] = []
        envelopes.reserveCapacity(events.count)
        var start = 0
        var former = FormerTexts()
        for event in events {
            let body = bodies[start..<event.end]
            start = event.end
            do throws(ExperimentationError) {
                envelopes.append(try EnvelopeCoding.decode(body, after: &former))
                envelopes[envelopes.count - 1].sequence = event.sequence
                envelopes[envelopes.count - 1].attempts = event.attempts
            } catch {
                unreadable.append(event.sequence)
            }
        }
        return (envelopes, unreadable)
    }
}
