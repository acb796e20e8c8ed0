import Experimentation
import Synchronization

/// The flags that a visitor has seen because of a variation, kept until the vendor has accepted the exposure and the
/// application is notified.
///
/// The vendor counts variations, and gets each once; the application is notified of each flag.
final class FlagshipObservations: Sendable {
    /// The unit that the vendor counts: a visitor and a variation.
    struct Mark: Hashable, Sendable {
        let visitor: ExactText
        let group: String
        let variation: String

        init(visitor: String, group: String, variation: String) {
            self.visitor = ExactText(visitor)
            self.group = group
            self.variation = variation
        }
    }

    private struct Sight: Sendable {
        var visitor: FlagshipExposedVisitor
        var flag: FlagshipExposedFlag
    }

    /// An exposure that is being delivered.
    private struct UnderWay: Sendable {
        /// The visitor at that moment, if the exposure doesn't carry it.
        var visitor: FlagshipExposedVisitor?
        /// The other flags seen because of it.
        var sights: [Sight] = []
    }

    private struct State {
        /// Visitors' contexts.
        var contexts = RecentlyUsed<[String: FlagValue]>(limit: 1_000)
        /// Visitors' exposures that are being delivered.
        var underWay = RecentlyUsed<[Mark: UnderWay]>(limit: 1_000)
        /// What the application is yet to be notified of, in order, and the task that is doing so.
        var untold: [Sight] = []
        var telling: Task<Void, Never>?

        mutating func changeExposures<Result>(
            of visitor: ExactText,
            _ change: (inout [Mark: UnderWay]) -> Result
        ) -> Result {
            var exposures = underWay.use(visitor) ?? [:]
            let result = change(&exposures)
            if exposures.isEmpty {
                underWay.remove(visitor)
            } else {
                underWay.keep(exposures, for: visitor, weighing: exposures.count)
            }
            return result
        }
    }

    private let state = Mutex(State())
    private let callback: FlagshipExposureCallback?

    init(_ callback: FlagshipExposureCallback?) { self.callback = callback }

    /// Whether the application observes exposures.
    var isWanted: Bool { callback != nil }

    // MARK: The neutral client

    /// Stores a visitor's context, for exposures of an earlier run.
    func note(_ context: EvaluationContext) {
        guard isWanted, context.user.consent != .denied else { return }
        state.withLock {
            $0.contexts.keep(context.user.attributes.values, for: ExactText(context.user.id), weighing: 1)
        }
    }

    /// Adds a flag that a visitor saw: the application is notified of each once the vendor has accepted the exposure.
    func see(_ sight: FlagSight) {
        let visitor = FlagshipExposedVisitor(
            id: sight.user.id,
            anonymousID: sight.user.anonymousID,
            context: sight.user.attributes.values
        )
        let mark = Mark(of: sight.exposure, visitor: sight.user.id)
        if sight.isRecorded {
            begin(mark, by: visitor)
        } else {
            add(FlagshipExposedFlag(sight.exposure), of: visitor, to: mark)
        }
    }

    // MARK: Flagship's own API

    /// Notes that an exposure is about to be sent.
    ///
    /// - Parameters:
    ///   - mark: The unit that it counts as.
    ///   - visitor: The visitor at that moment, unless the exposure carries it.
    func begin(_ mark: Mark, by visitor: FlagshipExposedVisitor? = nil) {
        guard isWanted else { return }
        state.withLock { state in
            state.changeExposures(of: mark.visitor) { if $0[mark] == nil { $0[mark] = UnderWay(visitor: visitor) } }
        }
    }

    /// Adds a further flag that was seen because of a variation: the application is notified once the vendor has
    /// accepted the exposure, or at once if it has.
    func add(_ flag: FlagshipExposedFlag, of visitor: FlagshipExposedVisitor, to mark: Mark) {
        guard isWanted else { return }
        let sight = Sight(visitor: visitor, flag: flag)
        state.withLock { state in
            let isUnderWay = state.changeExposures(of: mark.visitor) { $0[mark]?.sights.append(sight) != nil }
            if !isUnderWay { state.untold.append(sight) }
        }
        tell()
    }

    /// Removes a visitor who has withdrawn consent, and what they have seen.
    func forget(_ visitor: String) {
        let visitor = ExactText(visitor)
        state.withLock { state in
            state.contexts.remove(visitor)
            state.underWay.remove(visitor)
            state.untold.removeAll { ExactText($0.visitor.id) == visitor }
        }
    }

    // MARK: The vendor

    /// Notifies the application of an exposure that the vendor has accepted, without waiting for the main actor.
    func exposed(_ envelope: Envelope, _ exposure: Exposure) {
        guard isWanted else { return }
        let id = envelope.identity.id
        state.withLock { state in
            let mark = Mark(of: exposure, visitor: id)
            let underWay = state.changeExposures(of: mark.visitor) { $0.removeValue(forKey: mark) }
            let carried = envelope.event.attributes[FlagshipExposedVisitor.contextAttribute]?.objectValue
            let context = carried ?? underWay?.visitor?.context ?? state.contexts.use(mark.visitor) ?? [:]
            let visitor = FlagshipExposedVisitor(
                id: id,
                anonymousID: envelope.identity.anonymousID,
                context: context
            )
            state.untold.append(Sight(visitor: visitor, flag: FlagshipExposedFlag(exposure)))
            state.untold += underWay?.sights ?? []
        }
        tell()
    }

    /// Waits until the application has been notified of everything that the vendor has accepted so far.
    func untilTold() async { await state.withLock { $0.telling }?.value }

    /// Starts the one task that calls the application, unless it is running; it ends when there is nothing left to tell.
    private func tell() {
        guard let callback else { return }
        state.withLock { state in
            guard state.telling == nil, !state.untold.isEmpty else { return }
            state.telling = Task {
                while let sight = self.nextUntold() { await callback(sight.visitor, sight.flag) }
            }
        }
    }

    private func nextUntold() -> Sight? {
        state.withLock { state in
            guard !state.untold.isEmpty else {
                state.telling = nil
                return nil
            }
            return state.untold.removeFirst()
        }
    }
}

extension FlagshipObservations.Mark {
    fileprivate init(of exposure: Exposure, visitor: String) {
        self.init(visitor: visitor, group: exposure.assignment.group, variation: exposure.assignment.variation.id)
    }
}
