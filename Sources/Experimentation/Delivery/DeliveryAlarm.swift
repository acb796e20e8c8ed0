import Synchronization

/// Wakes a destination's task when its schedule says so.
///
/// Others change the schedule without waiting for the task, which may be busy with a batch: callers that have stored an
/// event go on at once.
final class DeliveryAlarm: Sendable {
    typealias Instant = DeliverySchedule.Instant

    private struct State {
        var schedule: DeliverySchedule
        /// Opens when what to do next changes; there is one while the task rests.
        var wake: AsyncGate?
    }

    private let state: Mutex<State>
    private let time: any TimeSource

    init(_ policy: BatchPolicy, by time: any TimeSource) {
        state = Mutex(State(schedule: DeliverySchedule(policy)))
        self.time = time
    }

    /// The schedule as it is now.
    var schedule: DeliverySchedule { state.withLock { $0.schedule } }

    /// The holds on deliveries as they are now.
    var holds: DeliverySchedule.Holds { state.withLock { $0.schedule.holds } }

    /// Changes the schedule, and wakes the task if what it does next changes.
    ///
    /// - Parameter change: The change, which is told the time; must be quick.
    /// - Returns: What the change returned.
    @discardableResult
    func change<Value: Sendable>(_ change: (inout DeliverySchedule, Instant) -> Value) -> Value {
        let now = time.instant
        let (value, wake) = state.withLock { state in
            guard state.wake != nil else { return (change(&state.schedule, now), nil as AsyncGate?) }
            let before = state.schedule.next(at: now)
            let value = change(&state.schedule, now)
            return (value, state.schedule.next(at: now) == before ? nil : state.wake.take())
        }
        wake?.open()
        return value
    }

    /// Returns how long to rest.
    ///
    /// - Returns: The end of the rest, if it has one, and a gate that opens earlier if the schedule changes; `nil` if a
    ///   run is due.
    func rest() -> (end: Instant?, changed: AsyncGate)? {
        let now = time.instant
        return state.withLock { state in
            state.wake = nil
            let end: Instant?
            switch state.schedule.next(at: now) {
            case .now: return nil
            case .at(let moment): end = moment
            case .never: end = nil
            }
            let changed = AsyncGate()
            state.wake = changed
            return (end, changed)
        }
    }

    /// Forbids deliveries for good, and wakes the task.
    func close() {
        state.withLock { state in
            state.schedule.set(.closed, true)
            return state.wake.take()
        }?.open()
    }
}
