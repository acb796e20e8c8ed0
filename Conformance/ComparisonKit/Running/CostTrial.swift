import ConformanceKit
import Experimentation

/// Runs a user's sessions of a month against one vendor's mock, and counts the traffic.
///
/// A session is a start of the application: decisions are fetched, flags read, events tracked and delivered. The device
/// keeps a session's state, and time passes between two of them, so that what is still valid isn't fetched again.
struct CostTrial: Sendable {
    let subject: any ConformanceSubject
    let world: World
    let usage: Usage

    /// The maximum number of sessions played; the others are assumed to cost the mean of those after the first.
    static let mostSessions = 6

    /// Runs the trial.
    ///
    /// - Returns: The cost of the month; `nil` if not every event of a session arrived.
    /// - Throws: When the mock doesn't work.
    func play() async throws -> MonthlyCost? {
        let stage = try await subject.open(world)
        defer { Task { await stage.close() } }
        let device = MeasuredDevice(on: stage)
        var sessions: [MonthlyCost.SessionCost] = []
        for _ in 0..<min(usage.sessions, Self.mostSessions) {
            guard let session = try await session(on: device, stage) else { return nil }
            sessions.append(session)
            device.time.push(by: .seconds(30 * 86_400) / max(1, usage.sessions))
        }
        guard let first = sessions.first else { return nil }
        return MonthlyCost(
            of: usage,
            first: first,
            later: Array(sessions.dropFirst()),
            takesEvents: !subject.capabilities.isDisjoint(with: [.tracking, .exposures])
        )
    }

    private func session(
        on device: MeasuredDevice,
        _ stage: any SubjectStage
    ) async throws -> MonthlyCost.SessionCost? {
        let before = try await arrived(at: stage)
        var isDone = true
        let traffic = try await device.traffic {
            let client = try await device.client()
            var user = world.users.first ?? User(id: "ada")
            user.consent = .granted
            let session = client.session(for: user)
            if subject.capabilities.contains(.flags) {
                try await session.refresh()
                read(in: session)
            }
            if subject.capabilities.contains(.tracking) {
                isDone = try await device.deliver(usage.events, of: .custom("search"), in: session, client)
            }
            await client.shutdown(within: .seconds(5))
        }
        guard isDone else { return nil }
        return MonthlyCost.SessionCost(
            requests: Double(traffic.requests),
            bytesSent: Double(traffic.bytesSent),
            bytesReceived: Double(traffic.bytesReceived),
            events: Double(try await arrived(at: stage) - before)
        )
    }

    /// Reads the world's flags one after another, starting again from the first.
    private func read(in session: UserSession) {
        guard !world.flags.isEmpty else { return }
        for number in 0..<usage.reads {
            let flag = world.flags[number % world.flags.count]
            _ = session.evaluation(of: flag.key, type: flag.type, default: flag.value)
        }
    }

    private func arrived(at stage: any SubjectStage) async throws -> Int {
        try await stage.received().count { $0.type != "identity" }
    }
}
