import ConformanceKit
import Experimentation
import ExperimentationMigration

/// Something that goes wrong at a vendor while a move is played.
///
/// A fault of a scenario (`{"operation":"events","fault":"status","status":503,"times":2}`), with `"vendor"` (`"old"` or `"new"`; both if
/// it isn't there) and `"step"` (from 1; in each step if it isn't there).
public struct MoveFault: Sendable, Hashable {
    /// What goes wrong.
    public var fault: WorldFault
    /// At which vendor; both if `nil`.
    public var side: MigrationSide?
    /// In which step, from 1; in each if `nil`.
    public var step: Int?

    /// Creates a fault.
    public init(_ fault: WorldFault, at side: MigrationSide? = nil, step: Int? = nil) {
        self.fault = fault
        self.side = side
        self.step = step
    }

    /// Reads a file of faults: `{"faults": […]}`, in JSON or what was read from YAML.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - name: Its name, for errors.
    ///   - steps: How many steps there are.
    /// - Returns: The faults; at least one.
    /// - Throws: What is wrong, and where.
    public static func all(
        in document: FlagValue,
        named name: String,
        steps: Int
    ) throws(DocumentError) -> [MoveFault] {
        var reader = try DocumentReader(document, named: name)
        let faults = try reader.each("faults") { (reader) throws(DocumentError) in
            var fault = MoveFault(try WorldFault(reading: &reader))
            if let text = try reader.optionalString("vendor") {
                guard let side = MigrationSide(rawValue: text) else {
                    throw reader.wrong("vendor", expected: "old or new")
                }
                fault.side = side
            }
            if reader.has("step") { fault.step = try reader.int("step", in: 1...max(steps, 1)) }
            return fault
        }
        try reader.finish()
        if faults.isEmpty { throw reader.error("faults", "expected at least one fault") }
        return faults
    }

    /// Whether it befalls a vendor in a step, counted from 0.
    func befalls(_ side: MigrationSide, inStep step: Int) -> Bool {
        (self.side ?? side) == side && (self.step ?? step + 1) == step + 1
    }
}
