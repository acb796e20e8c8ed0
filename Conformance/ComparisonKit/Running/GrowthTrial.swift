import ConformanceKit
import Experimentation

/// Fetches decisions and delivers events at several sizes, and counts the traffic.
struct GrowthTrial: Sendable {
    let subject: any ConformanceSubject

    /// Runs the trial.
    ///
    /// - Returns: A point for each size that was completed.
    /// - Throws: When the mock doesn't work.
    func play() async throws -> Growth {
        var growth = Growth()
        for count in Growth.counts {
            let stage = try await subject.open(Self.world(flags: count))
            defer { Task { await stage.close() } }
            if subject.capabilities.contains(.flags), let traffic = try await fetch(on: stage) {
                growth.flags.append(Growth.Point(count: count, traffic: traffic))
            }
            if subject.capabilities.contains(.tracking), let traffic = try await deliver(count, on: stage) {
                growth.events.append(Growth.Point(count: count, traffic: traffic))
            }
        }
        return growth
    }

    private static let user = User(id: "ada", consent: .granted)

    private static func world(flags count: Int) -> World {
        var world = World(
            name: "flags-\(count)",
            flags: (1...count).map { .init("flag-\($0)", .string("value-\($0)")) },
            users: [user]
        )
        // A request that is repeated because the mock takes long would count twice.
        world.patience = .seconds(60)
        return world
    }

    private func fetch(on stage: any SubjectStage) async throws -> Traffic? {
        let device = MeasuredDevice(on: stage)
        var isDone = false
        let traffic = try await device.traffic {
            let client = try await device.client()
            let session = client.session(for: Self.user)
            try await session.refresh()
            isDone = session.status == .ready
            await client.shutdown(within: .seconds(1))
        }
        return isDone ? traffic : nil
    }

    private func deliver(_ count: Int, on stage: any SubjectStage) async throws -> Traffic? {
        let device = MeasuredDevice(on: stage)
        let client = try await device.client()
        let session = client.session(for: Self.user)
        // A vendor's initial requests don't count as the cost of events.
        if subject.capabilities.contains(.flags) { try? await session.refresh() }
        var isDone = try await device.deliver(1, of: .custom("first"), in: session, client)
        guard isDone else { return nil }
        let traffic = try await device.traffic {
            isDone = try await device.deliver(count, of: .custom("search"), in: session, client)
        }
        await client.shutdown(within: .seconds(1))
        return isDone ? traffic : nil
    }
}
