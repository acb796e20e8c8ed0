extension ProviderRoles {
    /// Whether there is anywhere that events could go.
    public var takesEvents: Bool { events != nil || !furtherRoutes.isEmpty }

    /// Checks that an event has somewhere to go: pure, and quick.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - name: The provider's name, for the message.
    /// - Throws: What ``events`` says of it or, where there are none, the first of the further routes if none takes it.
    public func check(_ event: TrackingEvent, of name: String) throws(ExperimentationError) {
        if let events { return try events.check(event) }
        var first: ExperimentationError?
        for route in furtherRoutes {
            do throws(ExperimentationError) {
                return try route.sink.check(event)
            } catch {
                // A fault of the event itself tells more than a destination's lack of a word for it.
                if first == nil || (first?.code == .unsupported && error.code != .unsupported) { first = error }
            }
        }
        throw first ?? .unsupported("events", by: name)
    }
}
