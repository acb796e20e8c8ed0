extension MockJSON {
    /// JSON with sorted keys in which floating-point numbers always have a fraction, as the protocol's clients need it.
    var exact: [UInt8] {
        var text = ""
        write(to: &text)
        return Array(text.utf8)
    }

    private func write(to text: inout String) {
        switch self {
        case .double(let value) where value == value.rounded() && abs(value) < 1e15: text += "\(Int(value)).0"
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, name) in members.keys.sorted().enumerated() {
                if index > 0 { text += "," }
                text += MockJSON.string(name).text + ":"
                members[name]?.write(to: &text)
            }
            text += "}"
        default: text += self.text
        }
    }
}
