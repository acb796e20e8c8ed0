import Experimentation
import Synchronization

/// The flags that a visitor has seen because of a variation.
///
/// They are kept until the vendor has accepted the exposure and the application has been notified.
///
/// The vendor counts variations and receives each one once; the application is notified of each flag.
final class FlagshipObservations: Sendable {
    /// The unit that the vendor counts for a visitor.
    private struct Mark: Hashable {
        let group: ExactText
        let variation: ExactText
    }

    private struct State {
        /// Visitors' contexts as of their last refresh, for exposures of an earlier run.
        var contexts = RecentlyUsed<Attributes>(limit: 1_000)
        /// Visitors' exposures that are being delivered, each with the other flags seen because of it; kept apart so
        /// that other visitors' refreshes don't evict them.
        var underWay = RecentlyUsed<[Mark: [FlagSight]]>(limit: 1_000)
        /// The flags that the application has yet to be notified of, in order, and the task that notifies it.
        var untold: [FlagSight] = []
        var telling: Task<Void, Never>?

        /// Changes the flags seen because of the variation that a visitor was exposed to.
        mutating func change<Value>(
            _ exposure: Exposure,
            of visitor: ExactText,
            _ change: (inout [FlagSight]?) -> Value
        ) -> Value {
            let assignment = exposure.assignment
            let mark = Mark(group: ExactText(assignment.group), variation: ExactText(assignment.variation.id))
            var exposures = underWay.use(visitor) ?? [:]
            let value = change(&exposures[mark])
            underWay.remove(visitor)
            if !exposures.isEmpty { underWay.keep(exposures, for: visitor, weighing: exposures.count) }
            return value
        }
    }

    private let state = Mutex(State())
    private let callback: FlagshipExposureCallback?

    init(_ callback: FlagshipExposureCallback?) { self.callback = callback }

    /// Whether the application observes exposures.
    var isWanted: Bool { callback != nil }

    /// Stores a visitor's context, for exposures of an earlier run.
    func note(_ context: EvaluationContext) {
        guard isWanted, context.user.consent != .denied else { return }
        state.withLock { state in
            state.contexts.keep(context.user.attributes, for: ExactText(context.user.id), weighing: 1)
        }
    }

    /// Adds a flag that a visitor saw, before its exposure is tracked.
    ///
    /// The application is notified of each flag once the vendor has accepted the exposure, and of a further flag at
    /// once if the vendor already has.
    func see(_ sight: FlagSight) {
        guard isWanted else { return }
        state.withLock { state in
            let isUnderWay = state.change(sight.exposure, of: ExactText(sight.user.id)) { sights in
                guard sight.isRecorded else { return sights?.append(sight) != nil }
                if sights == nil { sights = [sight] }
                return true
            }
            if !isUnderWay { state.untold.append(sight) }
        }
        tell()
    }

    /// Removes a visitor who has withdrawn consent, and the flags that they have seen.
    func forget(_ visitor: String) {
        let visitor = ExactText(visitor)
        state.withLock { state in
            state.contexts.remove(visitor)
            state.underWay.remove(visitor)
            state.untold.removeAll { ExactText($0.user.id) == visitor }
        }
    }

    /// Notifies the application of an exposure that the vendor has accepted, without waiting for the main actor.
    func exposed(_ envelope: Envelope, _ exposure: Exposure) {
        guard isWanted else { return }
        let visitor = ExactText(envelope.identity.id)
        state.withLock { state in
            let sights = state.change(exposure, of: visitor) { $0.take() } ?? []
            let carried = envelope.event.attributes[FlagshipExposedVisitor.contextAttribute]?.objectValue
            let context = carried.map { Attributes($0) } ?? sights.first?.user.attributes
            let user = User(envelope.identity, attributes: context ?? state.contexts.use(visitor) ?? [:])
            state.untold.append(FlagSight(user: user, exposure: exposure, isRecorded: true))
            state.untold += sights.dropFirst()
        }
        tell()
    }

    /// Waits until the application has been notified of everything that the vendor has accepted so far.
    func untilTold() async { await state.withLock { $0.telling }?.value }

    /// Starts the one task that notifies the application, unless it is running; it ends when no notification is left.
    private func tell() {
        guard let callback else { return }
        state.withLock { state in
            guard state.telling == nil, !state.untold.isEmpty else { return }
            state.telling = Task {
                while let sight = self.nextUntold() {
                    await callback(FlagshipExposedVisitor(sight.user), FlagshipExposedFlag(sight.exposure))
                }
            }
        }
    }

    private func nextUntold() -> FlagSight? {
        state.withLock { state in
            guard !state.untold.isEmpty else {
                state.telling = nil
                return nil
            }
            return state.untold.removeFirst()
        }
    }
}
