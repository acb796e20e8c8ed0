import ConformanceKit
import Experimentation
import Testing

/// Lantern as a subject: the one place where the adapter and its stand-in meet.
struct LanternSubject: ConformanceSubject {
    var name: String { "lantern" }
    var capabilities: Set<Capability> { LanternProvider(back: LanternBackEnd(.empty)).capabilities }
    var reasons: [Capability: String] { [.experiments: "Lantern has flags, and no experiments"] }
    var wireFields: Set<Received.Field> { [.userID, .name] }

    func open(_ world: World) async throws -> any SubjectStage {
        LanternStage(back: LanternBackEnd(world), world: world)
    }
}

struct LanternStage: SubjectStage {
    let back: LanternBackEnd
    let world: World

    var gaps: [WorldGap] {
        world.flags.filter(\.isMalformed).map { WorldGap("flags/\($0.key)", "Lantern checks its records") }
            + (world.experiments.isEmpty ? [] : [WorldGap("experiments", "Lantern has no experiments")])
    }

    func makeProvider() -> any ExperimentationProvider { LanternProvider(back: back) }
    func change(to world: World) async { await back.setWorld(world) }
    func setReachable(_ isReachable: Bool) async { await back.setReachable(isReachable) }
    func inject(_ faults: [WorldFault]) throws {
        guard faults.isEmpty else { throw SubjectError.unsupported("Lantern has no wire that could fail") }
    }
    func clearFaults() {}
    func setKillSwitch(_ isOn: Bool) throws { throw SubjectError.unsupported("Lantern has no kill switch") }

    func received() async -> [Received] {
        await back.events.map { Received(type: "custom", userID: $0.who, name: $0.what) }
    }

    func exchanges() async -> [Exchange] {
        await back.calls.enumerated().map { index, call in
            Exchange(
                number: index + 1,
                purpose: call,
                operation: call.rawValue,
                method: "CALL",
                path: "/",
                status: 200
            )
        }
    }

    func close() {}
}

@Suite("Lantern keeps what it declares")
struct LanternConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await LanternSubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
