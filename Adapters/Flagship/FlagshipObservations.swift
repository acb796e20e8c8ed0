import Experimentation
import Synchronization

/// What goes by and is needed later: the context of the visitors seen last.
final class FlagshipObservations: Sendable {
    private struct State {
        var contexts: [String: [String: FlagValue]] = [:]
        var order: [String] = []
    }

    private static let limit = 1_000
    private let state = Mutex(State())
    private let callback: FlagshipExposureCallback?

    init(_ callback: FlagshipExposureCallback?) { self.callback = callback }

    /// Remembers a visitor's context; of more than a thousand visitors the one noted longest ago is forgotten.
    func note(_ values: [String: FlagValue], of visitor: String) {
        guard callback != nil else { return }
        state.withLock { state in
            if state.contexts.updateValue(values, forKey: visitor) != nil { return }
            state.order.append(visitor)
            if state.order.count > Self.limit { state.contexts[state.order.removeFirst()] = nil }
        }
    }

    /// Tells the application of an exposure that the vendor has taken.
    func exposed(_ envelope: Envelope, _ exposure: Exposure) async {
        guard let callback else { return }
        let context = state.withLock { $0.contexts[envelope.identity.id] ?? [:] }
        let visitor = FlagshipExposedVisitor(
            id: envelope.identity.id,
            anonymousID: envelope.identity.anonymousID,
            context: context
        )
        let flag = FlagshipExposedFlag(
            key: exposure.flagKey ?? "",
            value: exposure.value,
            defaultValue: exposure.defaultValue,
            metadata: FlagshipFlagMetadata(exposure.assignment.metadata)
        )
        await callback(visitor, flag)
    }
}
