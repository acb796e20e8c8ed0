extension ProviderRoles {
    /// Whether events have any destination.
    public var takesEvents: Bool { events != nil || !furtherRoutes.isEmpty }

    /// Checks that a destination takes an event; pure and quick.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - name: The provider's name, for the message.
    /// - Throws: The error of ``events`` or, if there are none, of the first further route if none takes the event.
    public func check(_ event: TrackingEvent, of name: String) throws(ExperimentationError) {
        if let events { return try events.check(event) }
        var first: ExperimentationError?
        for route in furtherRoutes {
            do throws(ExperimentationError) {
                return try route.sink.check(event)
            } catch {
                // A fault of the event itself says more than a destination's lack of support.
                if first == nil || (first?.code == .unsupported && error.code != .unsupported) { first = error }
            }
        }
        throw first ?? .unsupported("events", by: name)
    }
}
