import Experimentation

extension ExperimentationClient {
    /// Whether an event waits, in a store that can't look it up by id.
    ///
    /// - Throws: `ErrorCode.store`.
    func isWaiting(_ id: String) async throws(ExperimentationError) -> Bool {
        var last: Int64 = 0
        while let page = try await pageOfWaiting(after: &last) {
            if page.contains(where: { $0.envelope.id.utf8.elementsEqual(id.utf8) }) { return true }
        }
        return false
    }

    /// Returns the next page of waiting events.
    ///
    /// - Parameter last: The number of the last event of the page before; 0 for the first page.
    /// - Returns: At least one event; `nil` at the end.
    /// - Throws: `ErrorCode.store`.
    func pageOfWaiting(after last: inout Int64) async throws(ExperimentationError) -> [WaitingEvent]? {
        let page = try await waitingEvents(after: last)
        guard let end = page.last else { return nil }
        last = end.envelope.sequence
        return page
    }
}
