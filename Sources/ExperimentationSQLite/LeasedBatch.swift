import Experimentation

/// A leased batch as read from the file, not decoded yet.
struct LeasedBatch: Sendable {
    /// Where an event lies in ``bodies``: from the end of the one before to its own.
    private struct Event: Sendable {
        var sequence: Int64
        var attempts: Int
        var end: Int
    }

    /// The bodies of all events, one behind the other: they need room once for a batch, not once each.
    private(set) var bodies: [UInt8] = []
    private var events: [Event] = []

    /// Creates a batch without events.
    ///
    /// - Parameter bytes: How many bytes it will have, about.
    init(bytes: Int = 0) { bodies.reserveCapacity(bytes) }

    /// How many events there are.
    var count: Int { events.count }

    /// The number of the last event.
    var last: Int64? { events.last?.sequence }

    /// Adds an event.
    ///
    /// - Parameters:
    ///   - sequence: Its number.
    ///   - attempts: How often it was tried.
    ///   - write: Appends its body.
    mutating func add(sequence: Int64, attempts: Int, body write: (inout [UInt8]) -> Void) {
        write(&bodies)
        events.append(Event(sequence: sequence, attempts: attempts, end: bodies.count))
    }

    /// Reads the events.
    ///
    /// - Returns: Those that can be read, and the numbers of those that can't.
    func read() -> (envelopes: [Envelope], unreadable: [Int64]) {
        var envelopes: [Envelope] = []
        var unreadable: [Int64] = []
        envelopes.reserveCapacity(events.count)
        var start = 0
        for event in events {
            let body = bodies[start..<event.end]
            start = event.end
            do throws(ExperimentationError) {
                envelopes.append(try EnvelopeCoding.decode(body))
                envelopes[envelopes.count - 1].sequence = event.sequence
                envelopes[envelopes.count - 1].attempts = event.attempts
            } catch {
                unreadable.append(event.sequence)
            }
        }
        return (envelopes, unreadable)
    }
}
