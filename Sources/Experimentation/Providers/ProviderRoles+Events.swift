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

    /// Checks that no two routes lead to one destination: a store would owe an event twice and deliver it once.
    ///
    /// - Parameter own: The provider's own destination.
    /// - Throws: ``ErrorCode/configuration`` naming a destination of two routes.
    func checkDestinations(own: Destination) throws(ExperimentationError) {
        var seen: Set<Destination> = events == nil ? [] : [own]
        for route in furtherRoutes where !seen.insert(route.destination).inserted {
            throw ExperimentationError(
                .configuration,
                "The provider has two routes for events to \(route.destination); expected one for each destination."
            )
        }
    }
}
