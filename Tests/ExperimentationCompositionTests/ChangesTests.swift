import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@Suite("Announcements of several vendors, and notifications to them")
struct ChangesTests {
    /// Announces changes for a test, and records the states that it is notified of.
    private final class Announcer: ChangeSource {
        let output = Mutex<AsyncStream<ChangeNotice>.Continuation?>(nil)
        let states = Mutex<[ApplicationState]>([])

        func notices() -> AsyncStream<ChangeNotice> {
            let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self)
            output.withLock { $0 = continuation }
            return stream
        }

        func setApplicationState(_ applicationState: ApplicationState) {
            states.withLock { $0.append(applicationState) }
        }
    }

    private let a = Vendors.deciding("a", ["only-a": "1"], freshness: Freshness(lifetime: .seconds(3_600)))
    private let b = Vendors.deciding("b", ["only-b": "2"], freshness: Freshness(lifetime: .seconds(3_600)))

    private static func roles(of vendors: [Playing]) async throws -> ProviderRoles {
        try await ComposedProvider(of: vendors).start(in: ProviderContext())
    }

    @Test("a change that any of them announces reaches open sessions", arguments: Way.allCases, [0, 1])
    func changed(way: Way, announcer: Int) async throws {
        let client = try await ExperimentationClient(
            provider: ComposedProvider(of: [way == .mixed ? a.asked : a, b])
        )
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let key = ["only-a", "only-b"][announcer]
        [a, b][announcer].inner.set(InMemoryFlag(key, "new"))
        try await eventually("the new value") { session.string(key, default: "none") == "new" }
        await client.shutdown()
    }

    @Test("a vendor's silence is reported with its name, and the application's state is passed on to each vendor")
    func silence() async throws {
        let announcers = [Announcer(), Announcer()]
        let roles = try await Self.roles(of: [
            a.changing { $0.changes = announcers[0] }, b.changing { $0.changes = announcers[1] },
        ])
        let changes = try #require(roles.changes)
        var notices = changes.notices().makeAsyncIterator()
        announcers[1].output.withLock { $0 }?.yield(.unheard(ExperimentationError(.transport, "away")))
        #expect(await notices.next() == .unheard(ExperimentationError(.transport, "b: away")))
        changes.setApplicationState(.background)
        #expect(announcers.map { $0.states.withLock { $0 } } == [[.background], [.background]])
    }

    @Test("a vendor whose flags aren't used announces nothing")
    func unused() async throws {
        let roles = try await Self.roles(of: [a.changing { $0.changes = nil }, Vendors.taking("t")])
        #expect(roles.changes == nil)
    }

    @Test("a vendor that observes what users see is notified of its own experiments, in its own terms")
    func seen() async throws {
        let told = Mutex<[String: [FlagSight]]>([:])
        let vendors = [a, b].map { vendor in
            vendor.changing { roles in
                roles.flagSeen = { sight in told.withLock { $0[vendor.name, default: []].append(sight) } }
            }
        }
        let flagSeen = try #require(try await Self.roles(of: vendors).flagSeen)
        let own = Assignment(experiment: Experiment(id: "e"), variation: Variation(id: "v"))
        for provider in ["b", "c", nil] {
            var assignment = own
            assignment.metadata["provider"] = provider.map { .string($0) }
            let exposure = Exposure(assignment: assignment, flagKey: "flag")
            flagSeen(FlagSight(user: User(id: "ada"), exposure: exposure, isRecorded: true))
        }
        let sight = FlagSight(
            user: User(id: "ada"),
            exposure: Exposure(assignment: own, flagKey: "flag"),
            isRecorded: true
        )
        #expect(told.withLock { $0 } == ["b": [sight]])
        #expect(try await Self.roles(of: [a, b]).flagSeen == nil)
    }
}
