import Experimentation
import Synchronization

/// What a visitor has seen by a variation, until the vendor has taken the exposure and the application is told.
///
/// The vendor counts variations, and hears of each once; the application is told of each flag.
final class FlagshipObservations: Sendable {
    /// What the vendor counts: that a visitor saw a variation.
    struct Mark: Hashable, Sendable {
        var visitor: String
        var group: String
        var variation: String
    }

    private struct Sight: Sendable {
        var visitor: FlagshipExposedVisitor
        var flag: FlagshipExposedFlag
    }

    private struct State {
        var contexts = Recent<String, [String: FlagValue]>()
        /// Of exposures on their way what else was seen by them.
        var underWay = Recent<Mark, [Sight]>()
    }

    private let state = Mutex(State())
    private let callback: FlagshipExposureCallback?

    init(_ callback: FlagshipExposureCallback?) { self.callback = callback }

    /// Whether anybody wants to hear of exposures.
    var isWanted: Bool { callback != nil }

    // MARK: The neutral client

    /// Remembers a visitor's context, for exposures that don't carry their own.
    func note(_ values: [String: FlagValue], of visitor: String) {
        guard isWanted else { return }
        state.withLock { $0.contexts[visitor] = values }
    }

    // MARK: Flagship's own words

    /// Notes that an exposure is about to go on its way.
    func begin(_ mark: Mark) {
        guard isWanted else { return }
        state.withLock { if $0.underWay[mark] == nil { $0.underWay[mark] = [] } }
    }

    /// Takes a further flag that was seen by a variation: the application is told when the vendor has taken the exposure, at
    /// once if it has.
    func add(_ flag: FlagshipExposedFlag, of visitor: FlagshipExposedVisitor, to mark: Mark) {
        guard let callback else { return }
        let isUnderWay = state.withLock { state in
            guard var sights = state.underWay[mark] else { return false }
            sights.append(Sight(visitor: visitor, flag: flag))
            state.underWay[mark] = sights
            return true
        }
        if !isUnderWay { Task { await callback(visitor, flag) } }
    }

    /// Forgets what a visitor who has withdrawn consent has seen.
    func forget(_ visitor: String) { state.withLock { $0.underWay.removeAll { $0.visitor == visitor } } }

    // MARK: The vendor

    /// Tells the application of an exposure that the vendor has taken.
    func exposed(_ envelope: Envelope, _ exposure: Exposure) async {
        guard let callback else { return }
        let id = envelope.identity.id
        let mark = Mark(visitor: id, group: exposure.assignment.group, variation: exposure.assignment.variation.id)
        let (noted, sights) = state.withLock { ($0.contexts[id], $0.underWay.removeValue(mark)) }
        let visitor = FlagshipExposedVisitor(
            id: id,
            anonymousID: envelope.identity.anonymousID,
            context: envelope.event.attributes[Self.context]?.objectValue ?? noted ?? [:]
        )
        let flag = FlagshipExposedFlag(
            key: exposure.flagKey ?? "",
            value: exposure.value,
            defaultValue: exposure.defaultValue,
            metadata: FlagshipFlagMetadata(exposure.assignment.metadata)
        )
        await callback(visitor, flag)
        for sight in sights ?? [] { await callback(sight.visitor, sight.flag) }
    }

    /// The attribute of an exposure under which it carries its visitor's context; it isn't sent.
    static let context = "context"
}

/// A dictionary that forgets the keys that came first when there are more than a thousand.
private struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var values: [Key: Value] = [:]
    private var order: [Key] = []

    subscript(key: Key) -> Value? {
        get { values[key] }
        set {
            guard let newValue else {
                _ = removeValue(key)
                return
            }
            if values.updateValue(newValue, forKey: key) != nil { return }
            order.append(key)
            if order.count > 1_000 { values[order.removeFirst()] = nil }
        }
    }

    mutating func removeValue(_ key: Key) -> Value? {
        guard let value = values.removeValue(forKey: key) else { return nil }
        order.removeAll { $0 == key }
        return value
    }

    mutating func removeAll(_ isGone: (Key) -> Bool) {
        order.removeAll(where: isGone)
        values = values.filter { !isGone($0.key) }
    }
}
