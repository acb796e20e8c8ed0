import Experimentation
import FlagManifest

extension FlagType {
    /// The type of a flag with all of these values; `nil` if they don't determine it.
    init?(of values: some Sequence<FlagValue>) {
        var found: FlagType?
        for value in values where value != .null {
            let type = FlagType(of: value)
            if found == nil || found == .integer && type == .float { found = type }
        }
        guard let found else { return nil }
        self = found
    }

    /// The value in this type's encoding: a float with a fraction, an integer without, whatever the vendor sent.
    func written(_ value: FlagValue) -> FlagValue {
        switch (self, value) {
        case (.float, .int): value.doubleValue.map { .double($0) } ?? value
        case (.integer, .double): value.intValue.map { .int($0) } ?? value
        default: value
        }
    }
}
