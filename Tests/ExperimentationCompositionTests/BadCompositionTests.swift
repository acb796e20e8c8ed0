import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing

@Suite("Invalid compositions")
struct BadCompositionTests {
    /// An invalid composition and its error.
    struct Bad: Sendable, CustomTestStringConvertible {
        let line: String
        var vendors: [ComposedProvider.Vendor] = [
            .init(Vendors.deciding("d")), .init(Vendors.taking("t", allBut: ["share"])),
        ]
        var decisions = DecisionTable()
        var events = EventTable()
        var exposures = ExposureEvent()
        var testDescription: String { line }
    }

    static let bad: [Bad] = [
        Bad(line: #""vendors": a composition needs a vendor"#, vendors: []),
        Bad(
            line: #""vendors.t": two vendors have this name"#,
            vendors: [.init(Vendors.taking("t")), .init(Vendors.taking("u"), as: "t")]
        ),
        Bad(
            line: #""vendors.second": this is the same account as "t""#,
            vendors: [.init(Vendors.taking("t")), .init(Vendors.taking("t"), as: "second")]
        ),
        Bad(
            line: #""decisions": the flag "f" is claimed twice: by d and by t"#,
            decisions: DecisionTable([.flags(["f"], from: "d"), .flags(["e", "f"], from: "t")])
        ),
        Bad(
            line: #""decisions": the flag "x_*" is claimed twice: by d and by d"#,
            decisions: DecisionTable([.prefix("x_", from: "d"), .prefix("x_", from: "d")])
        ),
        Bad(line: #""decisions": there is no vendor "e"; there are d, t"#, decisions: .from("e")),
        Bad(line: #""decisions": t decides nothing"#, decisions: .from("d", "t")),
        Bad(line: #""events.share": t has no word for it"#, events: ["share": ["t"]]),
        Bad(line: #""events.*": d takes no events"#, events: .to("d", "t")),
        Bad(line: #""events.purchase": there is no vendor "u"; there are d, t"#, events: ["purchase": ["u"]]),
        Bad(line: #""exposures.event": the event needs a name"#, exposures: ExposureEvent(name: "")),
        Bad(
            line: #""exposures.fields": each field needs a name of its own"#,
            exposures: ExposureEvent(fields: [.experiment: "a", .group: "a"])
        ),
    ]

    @Test("an error in one clear line says what is wrong, before anything is sent", arguments: bad)
    func refused(bad: Bad) async {
        await #expect(throws: ExperimentationError(.configuration, bad.line)) {
            let provider = try ComposedProvider(
                bad.vendors,
                decisions: bad.decisions,
                events: bad.events,
                exposures: bad.exposures
            )
            _ = try await ExperimentationClient(provider: provider)
        }
    }

    @Test("an unknown kind of event is rejected with a list of the known ones")
    func unknownKind() {
        let error = #expect(throws: ExperimentationError.self) {
            try ComposedProvider(of: [Vendors.taking("t")], events: ["bought": ["t"]])
        }
        #expect(
            error?.message.hasPrefix(#""events.bought": there is no such kind of event; there are *, custom, "#) == true
        )
    }

    @Test("capabilities follow from the parts")
    func capabilities() throws {
        let provider = try ComposedProvider(of: [Vendors.deciding("d"), Vendors.taking("t")])
        #expect(
            provider.capabilities == [
                .flags, .targeting, .localEvaluation, .flagMetadata, .experiments, .overrides, .tracking, .exposures,
            ]
        )
    }

    @Test("the whole keeps assignments, or can be switched off, only if all deciding vendors do")
    func ofEverybody() throws {
        let both: Set<Capability> = [.stickyAssignments, .killSwitch]
        func vendor(_ name: String, _ more: Set<Capability>) -> ComposedProvider.Vendor {
            .init(InMemoryProvider(name: name, capabilities: more.union([.flags])))
        }
        let one = try ComposedProvider([vendor("a", both), vendor("b", [])])
        #expect(one.capabilities.isDisjoint(with: both))
        #expect(try ComposedProvider([vendor("a", both), vendor("b", both)]).capabilities.isSuperset(of: both))
        let events = InMemoryProvider(name: "e", capabilities: [.tracking, .killSwitch])
        #expect(try ComposedProvider([.init(events)]).capabilities.contains(.killSwitch))
        #expect(try !ComposedProvider([vendor("a", []), .init(events)]).capabilities.contains(.killSwitch))
    }
}
