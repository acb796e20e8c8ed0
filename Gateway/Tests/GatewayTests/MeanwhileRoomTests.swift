import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("The space in the file for events and assignments accepted while the database is away")
struct MeanwhileRoomTests {
    /// Events of one kind; kinds differ in how much SQLite writes in addition to an event's text.
    enum Kind: String, CaseIterable {
        case small
        case large
        case ofLongUsers

        func event(_ number: Int) -> EventRequest {
            let userID = self == .ofLongUsers ? "\(number)" + String(repeating: "u", count: 4_000) : "u\(number % 7)"
            let text = String(repeating: "x", count: self == .large ? 5_000 : 1)
            return EventRequest(
                id: "\(number)",
                user: User(id: userID, consent: .granted),
                isConsentStated: true,
                event: .custom("x", attributes: ["text": .string(text)]),
                date: nil
            )
        }
    }

    @Test(
        "everything that a file accepted is handed over, however small its limit, in one outage after another",
        arguments: [20_000, 60_000, 200_000, 1_000_000],
        Kind.allCases
    )
    func kept(bytes: Int, kind: Kind) async throws {
        let isAway = Shared(true)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("meanwhile-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let meanwhile = try await Meanwhile(
            file: folder.appendingPathComponent("m.sqlite"),
            scope: "s",
            bytes: bytes,
            environment: ClientEnvironment(),
            database: DatabaseSight { isAway.value }
        )
        let handed = Shared<Set<String>>([])
        meanwhile.hand { parcels in
            for case .event(let event) in parcels { handed.change { _ = $0.insert(event.id) } }
            return Array(repeating: .delivered, count: parcels.count)
        }
        var accepted: Set<String> = []
        for outage in 1...3 {
            isAway.change { $0 = true }
            let before = accepted.count
            let refusal = await Self.fill(meanwhile, kind, from: 10_000 * outage, &accepted)
            #expect(accepted.count > before)
            #expect(refusal?.code == .outboxFull)
            #expect(meanwhile.dropped == 0)
            #expect(try await meanwhile.client.outboxStatus().bytes <= bytes)
            isAway.change { $0 = false }
            try await eventually("everything is handed over") {
                await meanwhile.look()
                return meanwhile.count == 0
            }
            #expect(handed.value == accepted)
        }
        await meanwhile.close()
    }

    /// Adds events to a file until it refuses one.
    ///
    /// - Returns: The reason for the refusal; `nil` if it accepts all.
    private static func fill(
        _ meanwhile: Meanwhile,
        _ kind: Kind,
        from first: Int,
        _ accepted: inout Set<String>
    ) async -> EventRefusal? {
        for number in first..<first + 5_000 {
            switch await meanwhile.take(kind.event(number)) {
            case .accepted: accepted.insert("\(number)")
            case .refused(let why): return why
            case .repeated: Issue.record("\(number) was never taken before")
            }
        }
        return nil
    }

    @Test("an exposure that the file's state has no room for is counted as dropped, and accepted once there is room")
    func fullState() async throws {
        let state = FailingState(baseState: InMemoryStateStore(), claims: Shared(1))
        let meanwhile = try await Meanwhile(
            scope: "s",
            bytes: 1_000_000,
            environment: ClientEnvironment(),
            database: DatabaseSight { true }
        ) { _ in ClientStore(outbox: InMemoryOutboxStore(), state: state) }
        let exposure = Exposure(
            assignment: Assignment(experiment: Experiment(id: "button"), variation: Variation(id: "blue"))
        )
        let ada = User(id: "ada", consent: .granted)
        await meanwhile.take(exposure, of: ada, isConsentStated: true)
        #expect((meanwhile.count, meanwhile.dropped) == (0, 1))
        await meanwhile.take(exposure, of: ada, isConsentStated: true)
        #expect((meanwhile.count, meanwhile.dropped) == (1, 1))
        await meanwhile.close()
    }
}
