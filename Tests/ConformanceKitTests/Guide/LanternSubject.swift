import ConformanceKit
import Experimentation
import Testing

/// Lantern as a subject: the one place where the adapter and its mock meet.
struct LanternSubject: ConformanceSubject {
    var name: String { "lantern" }
    var capabilities: Set<Capability> { LanternProvider(back: LanternBackEnd(.empty)).capabilities }
    var reasons: [Capability: String] { [.experiments: "Lantern has flags, and no experiments"] }
    var wireFields: Set<Received.Field> { [.userID, .anonymousID, .name, .value, .attributes, .date] }

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
    func inject(_ faults: [WorldFault]) async { await back.add(faults) }
    func clearFaults() async { await back.clearFaults() }
    func setKillSwitch(_ isOn: Bool) throws { throw SubjectError.unsupported("Lantern has no kill switch") }

    func received() async -> [Received] {
        await back.events.map { event in
            Received(
                type: "custom",
                userID: event.who.id,
                anonymousID: event.who.anonymousID,
                name: event.what,
                value: event.amount,
                attributes: event.with,
                date: event.when
            )
        }
    }

    func exchanges() async -> [Exchange] { await back.calls }

    func close() {}
}

@Suite("Lantern keeps its declared promises")
struct LanternConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func conforms(to conformanceCase: ConformanceCase) async {
        let complaint = await LanternSubject().complaint(about: conformanceCase)
        #expect(complaint == nil)
    }
}
