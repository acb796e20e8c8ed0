import Experimentation

/// Time that an item was looked at, on its way as an event that only this vendor has.
struct EvergagePing: Sendable, Hashable {
    /// The name of the item's type.
    var type: String
    /// The item's id.
    var id: String
    /// The action of the view.
    var action: String
    /// How long, in milliseconds.
    var milliseconds: Int

    /// The event.
    var event: TrackingEvent {
        TrackingEvent(
            .native(
                NativeEvent(
                    type: EvergageTranslation.Native.viewTime,
                    payload: [
                        "type": .string(type), "id": .string(id), "action": .string(action),
                        "milliseconds": .int(milliseconds),
                    ],
                    priority: .low
                )
            )
        )
    }
}

extension EvergageAction {
    /// The event that carries this action as it is.
    var event: TrackingEvent {
        TrackingEvent(
            .native(NativeEvent(type: EvergageTranslation.Native.event, payload: members, priority: priority))
        )
    }
}
