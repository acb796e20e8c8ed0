extension OutboxStore {
    /// Visits all waiting events, oldest first.
    package func visitWaiting(_ visit: (WaitingEvent) -> Void) async throws(ExperimentationError) {
        var sequence: Int64 = 0
        while case let page = try await waiting(after: sequence, limit: 1_000), let last = page.last {
            page.forEach(visit)
            sequence = last.envelope.sequence
        }
    }

    /// Returns all events that wait for a destination, by their ids.
    package func waiting(for destination: Destination) async throws(ExperimentationError) -> [String: Envelope] {
        var found: [String: Envelope] = [:]
        try await visitWaiting { event in
            guard event.deliveries.contains(where: { $0.destination == destination }) else { return }
            found[event.envelope.id] = event.envelope
        }
        return found
    }
}
