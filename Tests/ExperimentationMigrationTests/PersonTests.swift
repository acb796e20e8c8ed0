import Experimentation
import Testing

@testable import ExperimentationMigration

@Suite("A move's record of a user")
struct PersonTests {
    private static let mapping = Mapping([
        ExperimentMapping(old: .init("checkout"), new: .init("checkout-2"), variations: ["a": "A", "b": "B"])
    ])

    private static func assignment(_ experiment: String) -> Assignment {
        Assignment(experiment: Experiment(id: experiment), variation: Variation(id: "A"))
    }

    @Test("a user assigned in an unmapped experiment of the new vendor stays outside a mapped group of the same name")
    func sameName() {
        var person = Person()
        person.outside = ["checkout"]
        person.take([Self.assignment("checkout")], by: .new, isSticky: false, in: Self.mapping)
        #expect(person.places == ["new/checkout": Person.Place(variation: "A", by: .new)])
        #expect(person.outside == ["checkout"])
        let policy = AssignmentPolicy(isSticky: false, allowsOverrides: true)
        #expect(
            person.carried(to: .new, policy: policy, in: Self.mapping).overrides == [.exclude(experiment: "checkout-2")]
        )
    }

    @Test("a place in the mapped experiment itself ends being outside")
    func mapped() {
        var person = Person()
        person.outside = ["checkout"]
        person.take([Self.assignment("checkout-2")], by: .new, isSticky: false, in: Self.mapping)
        #expect(person.places == ["old/checkout": Person.Place(variation: "a", by: .new)])
        #expect(person.outside == [])
    }

    @Test("a user with a place at the new vendor from before an experiment was mapped isn't outside of it")
    func placeBeforeMapping() {
        var person = Person()
        person.take([Self.assignment("checkout-2")], by: .new, isSticky: false, in: Mapping())
        person.know(Self.mapping)
        #expect(person.knows(Self.mapping) && person.outside == [])
        #expect(!Person(isKnown: true).knows(Self.mapping))
    }
}
