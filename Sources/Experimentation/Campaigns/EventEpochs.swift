/// The epochs of events that may still bring campaigns: a pure state machine.
///
/// At most ``most`` are remembered, and always those of the latest half as many events. Without the limit, the epochs
/// of events that are dropped for lack of room would stay, because such drops are never reported.
struct EventEpochs: Sendable {
    /// The maximum number of events.
    static let most = 4_096

    private var earlier: [String: UInt64] = [:]
    private var latest: [String: UInt64] = [:]

    /// The number of events.
    var count: Int { earlier.count + latest.count }

    /// Remembers the epoch in which an event happened.
    mutating func remember(_ epoch: UInt64, of eventID: String) {
        if latest.count >= Self.most / 2 { (earlier, latest) = (latest, [:]) }
        latest[eventID] = epoch
    }

    /// Forgets the epoch of an event, and returns it; `nil` if it is forgotten already.
    @discardableResult
    mutating func take(_ eventID: String) -> UInt64? {
        latest.removeValue(forKey: eventID) ?? earlier.removeValue(forKey: eventID)
    }
}
