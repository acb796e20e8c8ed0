import Experimentation

extension EvergageProvider {
    /// Verifies that the service is reachable and knows the data set, without leaving a trace in it.
    ///
    /// It sends one event marked as not to be tracked, which the vendor accepts and doesn't process.
    ///
    /// - Throws: `ErrorCode.unauthorized` if access is refused, `ErrorCode.configuration` if the data set is unknown or
    ///   the server's certificate isn't trusted, `ErrorCode.transport` if the answer isn't the vendor's.
    /// - Parameter client: A client of this vendor.
    public static func reach(_ client: ExperimentationClient) async throws(ExperimentationError) {
        guard let sink = client.extras(as: EvergageEventSink.self) else {
            throw ExperimentationError(.unsupported, "\(client.providerName) is not Evergage.")
        }
        let action = EvergageAction(
            members: ["action": "Reach", "flags": ["doNotTrack": true, "noCampaigns": true, "nonInteractive": true]]
        )
        let envelope = Envelope(
            id: sink.environment.makeID(),
            identity: Identity(id: "reach", anonymousID: "reach"),
            event: action.event,
            date: sink.environment.time.now
        )
        switch await sink.deliver([envelope])[0] {
        case .delivered: return
        case .stop(let error): throw error
        case .rejected(let reason): throw ExperimentationError(.configuration, "evergage refuses an event: \(reason)")
        default: throw ExperimentationError(.transport, "evergage gives no answer that could be understood")
        }
    }
}

extension EvergageAction {
    /// The event that carries this action unchanged.
    var event: TrackingEvent {
        let native = NativeEvent(
            type: EvergageTranslation.Native.event,
            payload: members,
            priority: priority,
            carriesAttributeChanges: carriesAttributes
        )
        return TrackingEvent(.native(native))
    }
}
