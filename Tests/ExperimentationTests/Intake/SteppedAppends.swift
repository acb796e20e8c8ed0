import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Waiting

/// A store whose appends wait, each for itself, after they are carried out.
final class SteppedAppends: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    private let doors: [Door]
    private let count = Mutex(0)

    /// Creates a store.
    ///
    /// - Parameter steps: How many appends wait; later ones don't.
    init(_ steps: Int) { doors = (0..<steps).map { _ in Door() } }

    func untilReached(_ step: Int) async { await doors[step].untilReached() }
    func open(_ step: Int) { doors[step].open() }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let step = count.withLock { count in
            defer { count += 1 }
            return count
        }
        let answer = try await base.append(events, now: now)
        if step < doors.count { await doors[step].pass() }
        return answer
    }
}
